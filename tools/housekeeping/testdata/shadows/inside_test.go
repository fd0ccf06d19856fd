package shadows

func helper() { value := 1; _ = value }
