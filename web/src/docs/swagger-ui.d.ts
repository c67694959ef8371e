declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  import type { TriedRequest } from "./caller";

  /** The options of Swagger UI that are used here. */
  export interface SwaggerUIOptions {
    url: string;
    dom_id: string;
    deepLinking: boolean;
    docExpansion: "none" | "list" | "full";
    defaultModelsExpandDepth: number;
    displayRequestDuration: boolean;
    filter: boolean;
    tryItOutEnabled: boolean;
    persistAuthorization: boolean;
    validatorUrl: null;
    requestInterceptor: (request: TriedRequest) => Promise<TriedRequest>;
  }

  export default function SwaggerUIBundle(options: SwaggerUIOptions): unknown;
}
