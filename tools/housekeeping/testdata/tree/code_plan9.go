package tree

func Plan() {}
