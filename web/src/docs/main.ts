/** The API reference at /docs: Swagger UI over the server's own description, with nothing from elsewhere. */
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";
import { inCallersName, readSession } from "./caller";
import "./docs.css";
import { text } from "./text";

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  persistAuthorization: false, // a key is a secret: it ends with the tab
  validatorUrl: null, // would send the description to another server
  requestInterceptor: inCallersName,
});

const session = await readSession();
const caller = document.getElementById("caller");
if (caller) caller.textContent = session ? text.signedIn(session.user.email, session.workspace) : text.signedOut;
