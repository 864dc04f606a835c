// Memory for large matrices in large pages, where the system has them.
//
// Memory that is touched for the first time costs the kernel an interruption a page: with pages of 4 KiB as
// much time as computing what is put there.
#pragma once

#include <cstddef>

namespace qkv {

// So many bytes are about to be allocated in large blocks.  Changes nothing but time; a hint that may be ignored.
void expect_large_matrices(std::size_t bytes);

}  // namespace qkv
