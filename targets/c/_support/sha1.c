#include "sha1.h"

#include <string.h>

static uint32_t rotate_left(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

static void hash_block(uint32_t state[5], const uint8_t block[64]) {
  uint32_t w[80];
  for (int t = 0; t < 16; t++) {
    w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
           block[4 * t + 3];
  }
  for (int t = 16; t < 80; t++) w[t] = rotate_left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);

  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int t = 0; t < 80; t++) {
    uint32_t f, k;
    if (t < 20) {
      f = (b & c) | (~b & d), k = 0x5A827999;
    } else if (t < 40) {
      f = b ^ c ^ d, k = 0x6ED9EBA1;
    } else if (t < 60) {
      f = (b & c) | (b & d) | (c & d), k = 0x8F1BBCDC;
    } else {
      f = b ^ c ^ d, k = 0xCA62C1D6;
    }
    uint32_t next = rotate_left(a, 5) + f + e + w[t] + k;
    e = d, d = c, c = rotate_left(b, 30), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void sha1_short(const void* bytes, size_t length, uint8_t digest[SHA1_LENGTH]) {
  uint8_t padded[128] = {0};
  size_t padded_length = length + 9 <= 64 ? 64 : 128;
  uint64_t length_bits = (uint64_t)length * 8;
  memcpy(padded, bytes, length);
  padded[length] = 0x80;
  for (int i = 0; i < 8; i++) padded[padded_length - 1 - i] = (uint8_t)(length_bits >> (8 * i));

  uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  for (size_t at = 0; at < padded_length; at += 64) hash_block(state, padded + at);
  for (int i = 0; i < SHA1_LENGTH; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha1_base64(const uint8_t digest[SHA1_LENGTH], char out[SHA1_BASE64_LENGTH]) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int group = 0; group < 7; group++) {
    const uint8_t* in = digest + 3 * group;
    uint8_t third = group < 6 ? in[2] : 0;  // 20 bytes: the last group holds two
    uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | third;
    for (int i = 0; i < 4; i++) out[4 * group + i] = alphabet[bits >> (18 - 6 * i) & 63];
  }
  out[SHA1_BASE64_LENGTH - 1] = '=';
}
