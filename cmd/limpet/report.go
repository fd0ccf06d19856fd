package main

import (
	"encoding/json"
	"path/filepath"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// problemReport is the file of --report: what was refused, and what can't be honoured.
type problemReport struct {
	Findings []status.Row `json:"findings"`
}

// writeReport writes the file of --report, if there is one to write: whole or not at all.
func (cc *compileCommand) writeReport(refused compiler.Errors, result *compiler.Result) error {
	if cc.report == "" {
		return nil
	}
	rows := status.ProblemRows(refused)
	if result != nil {
		rows = append(rows, status.ProblemRows(result.Warnings)...)
	}
	text, err := json.MarshalIndent(problemReport{rows}, "", "  ")
	if err != nil {
		return err
	}
	dir, name := filepath.Split(cc.report)
	return atomicfile.WriteAll(filepath.Clean(dir), []atomicfile.File{{Name: name, Data: append(text, '\n'), Mode: 0o644}})
}
