(component
  (core module $code
    (table $t 1 funcref)
    (func (export "f")
      (loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 500)) (i32.const -1))))
      unreachable))
  (core instance $c (instantiate $code))
  (func (export "tables") (canon lift (core func $c "f"))))
