/* The kernel for avx2: the template compiled with that set's vector operations and flags. */
#include "engine/kernel/vec_avx2.h"

#include "engine/kernel/kernel_tmpl.h"
