// Empty: it lets the compiler take a function without a body, nanotime.
