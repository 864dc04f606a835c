// Vectors of 16 bytes, which every processor with vectors has; elsewhere the compiler makes single numbers of
// them.
#define QKV_LANES baseline
#define QKV_VECTOR_BYTES 16

#include "fast/kernel_body.h"
