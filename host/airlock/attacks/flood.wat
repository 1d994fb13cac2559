(component
  (core module $code
    (memory (export "m") 900)
    (func (export "f") (result i32) (i32.store (i32.const 12) (i32.const 58000000)) (i32.const 8)))
  (core instance $c (instantiate $code))
  (func (export "flood") (result string) (canon lift (core func $c "f") (memory (core memory $c "m")))))
