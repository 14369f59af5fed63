// How fast QuickFIX's C++ parses: for each line on stdin, one pass over the messages of a file, with CheckSum and
// BodyLength verified and fields and groups put where an application finds them; prints the nanoseconds that it took.
//
//   parse MESSAGES DICTIONARY

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "DataDictionary.h"
#include "Message.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "needs MESSAGES DICTIONARY\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  const std::string bytes = content.str();
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find("\00110=", at) + 8;
    messages.push_back(bytes.substr(at, end - at));
    at = end;
  }
  const FIX::DataDictionary dictionary(argv[2]);
  std::size_t fields = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto began = std::chrono::steady_clock::now();
    for (const auto &text : messages) {
      const FIX::Message message(text, dictionary, true);
      fields += message.totalFields();
    }
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
    std::cout << took.count() << std::endl;
  }
  return fields > 0 ? 0 : 1;
}
