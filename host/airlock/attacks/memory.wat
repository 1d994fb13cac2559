(component
  (core module $code
    (memory 1)
    (func (export "f")
      (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
      unreachable))
  (core instance $c (instantiate $code))
  (func (export "memory") (canon lift (core func $c "f"))))
