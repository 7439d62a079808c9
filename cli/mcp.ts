// `tetrad mcp`: offers the read endpoints of a running server to AI agents, over the Model Context Protocol.
import type { Command } from 'commander'
import { docsPage } from './docs-page.ts'
import { addressOf, type CommonOptions } from './settings.ts'

const examples = `
A host such as an editor or a chat program starts this command and talks to it over standard input and
output. Every call counts for the key, with its plan and limits. A server can also offer this itself, over
HTTP: set mcp.enabled.

Examples:
  $ TETRAD_KEY=tetrad:… tetrad mcp
  $ tetrad mcp --url https://tetrad.example.org

Configuration of hosts: ${docsPage('agents')}.`

export function addMcp(program: Command): void {
  program
    .command('mcp')
    .description('Offer the endpoints of a running server to AI agents (Model Context Protocol).')
    .option(
      '--url <url>',
      'URL of the server (default: TETRAD_URL, the server on the data folder, or the configured address)',
    )
    .option('--key <key>', 'API key (better: TETRAD_KEY, which other users of the machine cannot see)')
    .addHelpText('after', examples)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { url?: string; key?: string }>()
      const baseUrl = await addressOf(options)
      const { serveMcpOnStdio } = await import('./mcp-stdio.ts')
      await serveMcpOnStdio({ baseUrl, key: options.key ?? (process.env.TETRAD_KEY || undefined) })
    })
}
