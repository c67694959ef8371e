import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["node_modules", "dist", "public"] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  a11y.flatConfigs.strict,
  hooks.configs.flat.recommended,
  {
    languageOptions: {
      parserOptions: {
        project: ["tsconfig.json", "build/tsconfig.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "jsx-a11y/no-autofocus": "off", // the field of a dialog or of a page that is only a form
      "max-lines": ["error", 450],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "HTML of others is shown by ui/message-frame alone.",
        },
      ],
    },
  },
  { files: ["**/*.js"], extends: [ts.configs.disableTypeChecked] }, // it stands in no project of TypeScript
);
