package commented_test

func Exported() {}
