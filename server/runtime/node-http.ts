// The HTTP module of Node. `import 'node:http'` also loads the code of fetch and WebSocket, which takes 70 ms and 15 MiB
// in every thread (decisions/load-only-what-a-start-needs.md).
export const { createServer, request } = process.getBuiltinModule('node:http')
