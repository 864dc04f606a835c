// x86-64 with AVX2 and FMA.
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define QKV_LANES avx2
#define QKV_VECTOR_BYTES 32
#define QKV_FUSED_DOUBLES(a, b, c) _mm256_fmadd_pd(a, b, c)
#define QKV_FUSED_FLOATS(a, b, c) _mm256_fmadd_ps(a, b, c)

#include "fast/kernel_body.h"
#endif
