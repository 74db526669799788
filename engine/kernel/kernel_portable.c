/* The kernel for any processor: the template compiled with the portable vector operations. */
#include "engine/kernel/vec_portable.h"

#include "engine/kernel/kernel_tmpl.h"
