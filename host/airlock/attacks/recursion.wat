(component
  (core module $code (func $f (export "f") (call $f)))
  (core instance $c (instantiate $code))
  (func (export "recursion") (canon lift (core func $c "f"))))
