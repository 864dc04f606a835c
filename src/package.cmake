# A Debian package: `cpack -G DEB` in the build folder; tests/deb.sh tries one out.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME qkv)
set(CPACK_PACKAGE_VENDOR qkv)
set(CPACK_PACKAGE_CONTACT "The qkv maintainers <maintainers@qkv.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "calculator of attention that shows every step")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"qkv reads small matrices from a text file, computes attention as transformers
do, and prints every intermediate step: projections, scores, scaling, mask,
softmax and the weighted sum. Every digit is proved right. It also explains
single numbers, sets and marks homework, compares traces and recognises the
conventions behind somebody's output.

qkv 从文本文件读入小矩阵，计算注意力，并打印每一个中间步骤：投影、打分、
缩放、掩码、softmax、加权求和，每一位数字都经过证明。它还能说明一个数从
哪里来，出题、批改作业，比较两份结果，并认出一份输出用的是哪种约定。")
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries of this system, by dpkg-shlibdeps
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

# Debian wants manual pages compressed, without the time of day.
file(WRITE "${CMAKE_BINARY_DIR}/compress-pages.cmake" [[
file(GLOB_RECURSE pages "${CPACK_TEMPORARY_DIRECTORY}/qkv.1")
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9n "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
]])
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_BINARY_DIR}/compress-pages.cmake")

include(CPack)
