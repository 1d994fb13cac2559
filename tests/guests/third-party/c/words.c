/* Counts words: C without a library, in the canonical form that a component is made of. */
typedef unsigned int u32;
typedef unsigned char u8;

extern u8 __heap_base;
static u32 next;

/* An allocator that never frees: an instance lives for one call. */
__attribute__((export_name("cabi_realloc")))
void *cabi_realloc(void *old, u32 old_len, u32 align, u32 len) {
  if (!next) next = (u32)&__heap_base;
  u32 at = (next + align - 1) & ~(align - 1);
  u32 end = at + len;
  u32 have = __builtin_wasm_memory_size(0) * 65536u;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + 65535u) / 65536u) == (u32)-1) __builtin_trap();
  next = end;
  u8 *to = (u8 *)at, *from = old;
  for (u32 i = 0; i < old_len; i++) to[i] = from[i];
  return to;
}

struct counted {
  u32 words, letters, has_longest;
  const u8 *longest;
  u32 longest_len;
};

static int is_space(u8 c) { return c == ' ' || (c >= 9 && c <= 13); }

__attribute__((export_name("local:words/count#count")))
struct counted *count(const u8 *text, u32 len) {
  static struct counted result;
  u32 begin = 0;
  for (u32 i = 0; i <= len; i++) {
    if (i < len && !is_space(text[i])) {
      /* Continuation bytes of UTF-8 are no letters of their own. */
      if ((text[i] & 0xc0) != 0x80) result.letters++;
      continue;
    }
    if (i > begin) {
      result.words++;
      if (i - begin > result.longest_len) {
        result.has_longest = 1;
        result.longest = text + begin;
        result.longest_len = i - begin;
      }
    }
    begin = i + 1;
  }
  return &result;
}
