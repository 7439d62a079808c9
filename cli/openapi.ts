// `tetrad openapi`: prints the OpenAPI document.
import type { Command } from 'commander'
import { print } from './print.ts'
import type { CommonOptions } from './settings.ts'

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('Print the OpenAPI document of all endpoints.')
    .option('--url <url>', 'server URL in the document', 'http://127.0.0.1:8080')
    .action(async (_: unknown, command: Command) => {
      const { url, json } = command.optsWithGlobals<CommonOptions & { url: string }>()
      const { openapi } = await import('#api/openapi.ts')
      print(JSON.stringify(openapi({ serverUrl: url }), undefined, json ? 0 : 2))
    })
}
