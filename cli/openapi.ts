// `tetrad openapi`: prints the OpenAPI document.
import type { Command } from 'commander'
import { print } from './print.ts'
import { addressOf, type CommonOptions, configOf } from './settings.ts'

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('Print the OpenAPI document of all endpoints.')
    .option('--url <url>', 'server URL in the document (default: `publicUrl` or the address in the configuration)')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { url?: string }>()
      const { openapi } = await import('#api/openapi.ts')
      print(JSON.stringify(openapi({ serverUrl: await serverUrlOf(options) }), undefined, options.json ? 0 : 2))
    })
}

async function serverUrlOf(options: CommonOptions & { url?: string }): Promise<string> {
  if (options.url !== undefined) return options.url
  const { publicUrl } = (await configOf(options)).settings.server
  return publicUrl || addressOf(options)
}
