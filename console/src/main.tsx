/** Where the console begins. */
import "@fontsource/jetbrains-mono/latin-400.css";
import "@fontsource/jetbrains-mono/latin-600.css";
import "pretendard/dist/web/variable/pretendardvariable-dynamic-subset.css";
import "./tokens.css";
import "./base.css";
import "./shell/shell.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./shell/App";
import { startKeys } from "./shell/keys";
import { SessionProvider } from "./shell/session";

startKeys();
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <SessionProvider>
      <App />
    </SessionProvider>
  </StrictMode>,
);
