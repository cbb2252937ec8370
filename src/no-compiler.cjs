// Stands in for the TypeScript compiler in the bundled plugin. The plugin kit imports one to turn TypeScript into other
// targets, which this plugin prints itself; loading it would take longer than generating the code.
