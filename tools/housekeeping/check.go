package main

import "slices"

// checkTree lists what is over a limit; of tests too if asked to.
func checkTree(tree *sourceTree, withTests bool) ([]finding, error) {
	shadows, err := checkShadows(tree)
	if err != nil {
		return nil, err
	}
	findings := slices.Concat(
		findUncommentedPackages(tree), findLongFunctions(tree), findWideLines(tree, maxColumns), shadows)
	if !withTests {
		findings = slices.DeleteFunc(findings, func(f finding) bool { return f.isTest })
	}
	return findings, nil
}

// checkShadows lists the shadows that the allow list does not have, and what is wrong with that list.
func checkShadows(tree *sourceTree) ([]finding, error) {
	allowed, err := readAllowList(tree.root)
	if err != nil {
		return nil, err
	}
	findings := allowed.findFaults()
	for _, s := range findLocals(tree).shadows {
		if !allowed.permit(s.key) {
			findings = append(findings, s.finding)
		}
	}
	return append(findings, allowed.findUnused()...), nil
}
