(component
  (core module $code
    (memory (export "m") 1)
    (func (export "f") (result i32) (i32.store (i32.const 12) (i32.const -1)) (i32.const 8)))
  (core instance $c (instantiate $code))
  (func (export "length") (result string) (canon lift (core func $c "f") (memory (core memory $c "m")))))
