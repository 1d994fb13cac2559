// Moves letters: AssemblyScript in the canonical form that a component is made of, without its own runtime.

let next: u32 = 0;

/** An allocator that never frees: an instance lives for one call. */
export function cabi_realloc(old: u32, oldLen: u32, align: u32, len: u32): u32 {
  if (next == 0) next = <u32>__heap_base;
  const at = (next + align - 1) & ~(align - 1);
  const end = at + len;
  const have = <u32>memory.size() << 16;
  if (end > have && memory.grow(<i32>((end - have + 0xffff) >> 16)) < 0) unreachable();
  next = end;
  memory.copy(at, old, oldLen);
  return at;
}

function moved(byte: u8, places: u32): u8 {
  const first: u8 = byte >= 97 && byte <= 122 ? 97 : byte >= 65 && byte <= 90 ? 65 : 0;
  return first == 0 ? byte : <u8>(first + (<u32>(byte - first) + places) % 26);
}

export function shift(text: u32, len: u32, places: u32, direction: u32): u32 {
  const by: u32 = direction == 0 ? places % 26 : 26 - (places % 26);
  for (let i: u32 = 0; i < len; i++) store<u8>(text + i, moved(load<u8>(text + i), by));
  const result = cabi_realloc(0, 0, 4, 8);
  store<u32>(result, text);
  store<u32>(result, len, 4);
  return result;
}
