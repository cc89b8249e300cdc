// Command types prints the fields of Go struct types, as JSON, without building the package.
//
//	go run types.go DIRECTORY TYPE...
//
// It reads the package's source alone. Types of other packages appear by their names, so no
// dependency of the package is needed.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// maxDepth bounds types that contain themselves.
const maxDepth = 16

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: types DIRECTORY TYPE...")
		os.Exit(2)
	}
	declared, err := declarations(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	found := map[string]map[string]string{}
	for _, name := range os.Args[2:] {
		structure, ok := declared[name].(*ast.StructType)
		if !ok {
			fmt.Fprintf(os.Stderr, "%s: no struct type %s\n", os.Args[1], name)
			os.Exit(1)
		}
		fields := map[string]string{}
		walk(declared, structure, "", fields, 0)
		found[name] = fields
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// declarations returns the type expressions of a package by name, tests left out.
func declarations(directory string) (map[string]ast.Expr, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return nil, err
	}
	declared := map[string]ast.Expr{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					declared[named.Name.Name] = named.Type
				}
			}
		}
	}
	return declared, nil
}

// walk notes the JSON fields of a struct type below a path; embedded and inlined types are merged.
func walk(declared map[string]ast.Expr, structure *ast.StructType, path string, fields map[string]string, depth int) {
	if depth > maxDepth {
		return
	}
	for _, field := range structure.Fields.List {
		name, inline := jsonName(field)
		if name == "-" {
			continue
		}
		if inline {
			if embedded, ok := resolve(declared, field.Type).(*ast.StructType); ok {
				walk(declared, embedded, path, fields, depth+1)
			}
			continue
		}
		note(declared, field.Type, path+"."+name, fields, depth)
	}
}

// note writes one field and, where its type is a struct of the package, the fields below it.
func note(declared map[string]ast.Expr, expression ast.Expr, path string, fields map[string]string, depth int) {
	switch known := resolve(declared, expression).(type) {
	case *ast.StructType:
		fields[path] = "object"
		walk(declared, known, path, fields, depth+1)
	case *ast.ArrayType:
		fields[path] = "array"
		note(declared, known.Elt, path+"[]", fields, depth+1)
	case *ast.MapType:
		fields[path] = "map"
		note(declared, known.Value, path+"{}", fields, depth+1)
	case *ast.SelectorExpr:
		fields[path] = fmt.Sprintf("%v.%s", known.X, known.Sel.Name)
	case *ast.Ident:
		fields[path] = known.Name
	default:
		fields[path] = fmt.Sprintf("%T", known)
	}
}

// resolve follows pointers, parentheses and the package's own names.
func resolve(declared map[string]ast.Expr, expression ast.Expr) ast.Expr {
	for steps := 0; steps < maxDepth; steps++ {
		switch known := expression.(type) {
		case *ast.StarExpr:
			expression = known.X
		case *ast.ParenExpr:
			expression = known.X
		case *ast.Ident:
			target, ok := declared[known.Name]
			if !ok {
				return expression
			}
			expression = target
		default:
			return expression
		}
	}
	return expression
}

// jsonName returns the name that encoding/json gives a field, and whether its type is inlined.
func jsonName(field *ast.Field) (name string, inline bool) {
	var options string
	if field.Tag != nil {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		name, options, _ = strings.Cut(tag, ",")
	}
	if name == "" && (len(field.Names) == 0 || strings.Contains(options, "inline")) {
		return "", true
	}
	if name == "" {
		name = field.Names[0].Name
		if !ast.IsExported(name) {
			return "-", false
		}
	}
	return name, false
}
