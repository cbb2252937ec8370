// This empty module replaces the TypeScript compiler in the bundled plugin. The plugin kit imports the compiler to convert
// TypeScript to other targets. This plugin prints those targets itself, and loading the compiler would take longer than
// generating the code.
