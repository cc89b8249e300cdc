// An assembly file lets Go functions without a body pass the compiler.
