// SPDX-License-Identifier: MIT
#include "mcp/folder.hpp"

#include "mcp/served.hpp"
#include "support/files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

ErrorCode refusal_of_path(const mcp::Folder& folder, std::string_view path) {
  CAPTURE(std::string(path));
  const Result<std::string> resolved = folder.resolve(path);
  REQUIRE_FALSE(resolved.ok());
  return resolved.error().code();
}

}  // namespace

TEST_CASE("paths lead below the folder", "[mcp]") {
  const ServedFolder served;
  const mcp::Folder folder = served.open();
  for (const char* path : {"train.rfcap", "./train.rfcap", "job/../train.rfcap", "job//rank0.rfcap", "", ".", "job"}) {
    CAPTURE(path);
    const Result<std::string> resolved = folder.resolve(path);
    if (std::string(path).find("..") != std::string::npos) {
      CHECK_FALSE(resolved.ok());
      continue;
    }
    REQUIRE(resolved.ok());
    CHECK(std::filesystem::exists(*resolved));
  }
  CHECK(*folder.resolve(folder.root() + "/train.rfcap") == folder.root() + "/train.rfcap");
}

TEST_CASE("paths that lead elsewhere are refused", "[mcp]") {
  const ServedFolder served;
  const ServedFolder other;
  const mcp::Folder folder = served.open();
  for (const std::string& path : {std::string("../train.rfcap"), std::string("job/../../x"), std::string("/etc/passwd"),
                                  std::string("/"), other.file("train.rfcap"), folder.root() + "x/train.rfcap",
                                  folder.root() + "/../etc", std::string("train.rfcap\0x", 13)})
    CHECK(refusal_of_path(folder, path) == ErrorCode::kInvalidArgument);
  CHECK(refusal_of_path(folder, "nothing.rfcap") == ErrorCode::kNotFound);
  CHECK(refusal_of_path(folder, "train.rfcap/x") == ErrorCode::kNotFound);
}

TEST_CASE("links are refused wherever they stand in a path", "[mcp]") {
  const ServedFolder served;
  const ServedFolder other;
  namespace fs = std::filesystem;
  fs::create_symlink(other.file("train.rfcap"), served.file("link.rfcap"));
  fs::create_directory_symlink(other.path(), served.file("linked"));
  fs::create_directory(served.file("with_link"));
  fs::create_symlink("../train.rfcap", served.file("with_link/a.rfcap"));
  const mcp::Folder folder = served.open();
  for (const char* path : {"link.rfcap", "linked", "linked/train.rfcap", "with_link", "with_link/a.rfcap", "."})
    CHECK(refusal_of_path(folder, path) == ErrorCode::kInvalidArgument);
  CHECK(folder.resolve("train.rfcap").ok());
  for (const mcp::FolderEntry& entry : folder.list(100).entries) CHECK(entry.path.find("link") == std::string::npos);
}

TEST_CASE("what is neither a file nor a folder is refused", "[mcp]") {
  const ServedFolder served;
  REQUIRE(::mkfifo(served.file("pipe").c_str(), 0600) == 0);
  CHECK(refusal_of_path(served.open(), "pipe") == ErrorCode::kInvalidArgument);
}

TEST_CASE("the list of files has inputs and jobs alone", "[mcp]") {
  const ServedFolder served;
  write_file(served.file("notes.txt"), "x");
  write_file(served.file("job/rank1.rfcap"), read_file(served.file("job/rank0.rfcap")));
  write_file(served.file("trace.json.gz"), "x");
  const mcp::FolderList list = served.open().list(100);
  std::string text;
  for (const mcp::FolderEntry& entry : list.entries) text += entry.path + " " + entry.kind + "\n";
  CHECK(text ==
        "job job\njob/rank0.rfcap capture\njob/rank1.rfcap capture\ntrace.json.gz trace\ntrain.rfcap capture\n");
  CHECK_FALSE(list.truncated);
  CHECK(served.open().list(2).truncated);
  CHECK(served.open().list(2).entries.size() == 2);
}

TEST_CASE("a folder has to be one", "[mcp]") {
  const ServedFolder served;
  CHECK_FALSE(mcp::Folder::open(served.file("train.rfcap")).ok());
  CHECK_FALSE(mcp::Folder::open(served.file("nothing")).ok());
}
