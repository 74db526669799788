/* The kernel for neon: the template compiled with that set's vector operations and flags. */
#include "engine/kernel/vec_neon.h"

#include "engine/kernel/kernel_tmpl.h"
