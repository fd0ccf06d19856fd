package shadows_test

func outside() { value, outside := 1, 2; _, _ = value, outside }
