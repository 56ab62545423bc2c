// What a tool can find wrong in our scripts: misspelt names, what nobody uses, what is never reached.
import js from "@eslint/js";

// What our scripts use of the browser. Joined, they stand in one scope: none of them may define one of these names.
const BROWSER = [
  "Blob", "CSS", "DOMParser", "Event", "EventSource", "Highlight", "Image", "NodeFilter", "ResizeObserver",
  "SVGElement", "URL", "URLSearchParams", "XMLSerializer",
  "addEventListener", "atob", "clearTimeout", "document", "getComputedStyle", "history", "innerHeight", "localStorage",
  "location", "matchMedia", "navigator", "requestAnimationFrame", "scrollTo", "scrollX", "scrollY", "sessionStorage",
  "setTimeout",
];

export default [
  js.configs.recommended,
  {
    files: ["templates/**/*.js", "src/**/*.js"],
    languageOptions: { ecmaVersion: 2023, globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])) },
    rules: {
      "no-shadow": ["error", { builtinGlobals: true, hoist: "never" }],
      "no-var": "error",
      "prefer-const": "error",
      eqeqeq: "error",
      "no-implicit-coercion": "off",
      "no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
      "no-use-before-define": "off",
    },
  },
  { files: ["eslint.config.js"], languageOptions: { ecmaVersion: 2023 } },
  { ignores: ["results/", "work/", ".venv/", "build/", "dist/", "tests/"] },
];
