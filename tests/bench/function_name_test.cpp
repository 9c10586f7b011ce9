// SPDX-License-Identifier: MIT
#include "bench/function_name.hpp"

#include "support/catch.hpp"

using rangefinder::bench::function_name;

TEST_CASE("a function's name has neither parameters nor template arguments", "[bench]") {
  CHECK(function_name("main") == "main");
  CHECK(function_name("memcpy@GLIBC_2.14") == "memcpy");
  CHECK(function_name("_ZN2at6native3addEi") == "at::native::add");             // at::native::add(int)
  CHECK(function_name("_ZNK1A1fEv") == "A::f");                                 // A::f() const
  CHECK(function_name("_ZN12_GLOBAL__N_11fEv") == "(anonymous namespace)::f");  // (anonymous namespace)::f()
  CHECK(function_name("_Z1fIiEvT_") == "f");                                    // void f<int>(int)
  CHECK(function_name("_ZNSt6vectorIiSaIiEE9push_backERKi") == "std::vector::push_back");
  CHECK(function_name("_ZN1AclEv") == "A::operator()");  // A::operator()()
  CHECK(function_name("_ZlsRK1AS1_") == "operator<<");   // operator<<(A const&, A const&)
  CHECK(function_name("_ZgtRK1AS1_") == "operator>");
  CHECK(function_name("_ZN1AcvbEv") == "A::operator bool");                 // A::operator bool()
  CHECK(function_name("_ZZ1fiENKUlvE_clEv") == "f::{lambda}::operator()");  // f(int)::{lambda()#1}::operator()() const
  CHECK(function_name("_ZZNK1A1fEvE1x") == "A::f::x");                      // A::f() const::x
  CHECK(function_name("_Z1fB5cxx11v") == "f");                              // f[abi:cxx11]()
  CHECK(function_name("_Znot_mangled") == "_Znot_mangled");
}
