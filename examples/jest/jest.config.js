export default {
  extensionsToTreatAsEsm: [".ts"],
  // Imports name the output of the compiler: ./greet-service.js is greet-service.ts.
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: { "\\.ts$": ["babel-jest", { presets: ["@babel/preset-typescript"] }] },
};
