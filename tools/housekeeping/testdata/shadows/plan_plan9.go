package shadows

func plan() {}

func text() int { value := 1; return value }
