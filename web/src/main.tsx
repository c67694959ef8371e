// First, so that its order of layers stands before every other style.
import "./ui/tokens.css";
import "./ui/base.css";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { listenForKeys } from "./shell/keys";
import { cspNonce } from "./shell/nonce";
import { applyTheme } from "./shell/theme";

applyTheme();
setNonce(cspNonce());
listenForKeys();
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
