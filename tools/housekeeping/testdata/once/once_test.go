package once

func test() {
	tested()
	tested()
	onlyTested()
	helper()
}

func helper() {}
