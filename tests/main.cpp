// The unit tests' main().  Every other tests/*.cpp holds test cases and is one CTest entry;
// what several of them share belongs in a header.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
