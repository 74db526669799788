/* The kernel for avx512: the template compiled with that set's vector operations and flags. */
#include "engine/kernel/vec_avx512.h"

#include "engine/kernel/kernel_tmpl.h"
