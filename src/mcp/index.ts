// MCP: what models may ask of Headworks, over standard input and output or HTTP.
export type { McpHttpResponse, McpHttpRequest } from './answer-http.ts';
export { answerHttp } from './answer-http.ts';
export { withoutHeader } from './error-text.ts';
export type { ApiCallOptions, CallerKind, HeadworksApi, McpDeps } from './ports.ts';
export type { StdioStreams } from './serve-stdio.ts';
export { serveStdio } from './serve-stdio.ts';
