// `tetrad config …`: is the configuration right, what does it come to, and what may be written in it.
import type { Command } from 'commander'
import type { SchemaNode } from '#runtime/config/leaves.ts'
import { note, print, printJson } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

export function addConfig(program: Command): void {
  const config = program.command('config').description('Check and show the configuration.')

  config
    .command('check')
    .description(
      'Check file and environment; says every problem with its place, and fails if there is any; names what is valid but hardly meant.',
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { sources, configured, settings } = await configOf(options)
      const { settingsFindings } = await import('#operations/machine.ts')
      const doubts = settingsFindings(settings, configured).filter(({ level }) => level !== 'ok')
      if (options.json)
        return printJson({ ok: true, file: sources.file ?? null, variables: sources.variables, configured, doubts })
      const used = [...(sources.file ? [sources.file] : []), ...sources.variables]
      print(`The configuration is valid: ${used.length > 0 ? `${used.join(', ')}, and defaults` : 'all defaults'}.`)
      for (const { name, message, todo } of doubts) note(`${name}: ${message}${todo ? `; ${todo}` : ''}.`)
    })

  config
    .command('show')
    .description('Show every setting as it is in effect, defaults included. Of addresses only the host is shown.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { settings } = await configOf(options)
      const [{ presentable }, { writeYaml }, { settingsNode }] = await Promise.all([
        import('#runtime/config.ts'),
        import('#runtime/config/yaml.ts'),
        import('#runtime/config/leaves.ts'),
      ])
      const shown = inOrder(settings, settingsNode, presentable)
      if (options.json) printJson(shown)
      else print(writeYaml(shown).trimEnd())
    })

  config
    .command('schema')
    .description('Print the JSON Schema of the configuration file, for editors.')
    .action(async (_: unknown, command: Command) => {
      const { configurationSchema } = await import('../docs/configuration.ts')
      print(JSON.stringify(configurationSchema(), undefined, command.optsWithGlobals<CommonOptions>().json ? 0 : 2))
    })
}

/** In the schema's order, whatever order the file has, and each text fit to be shown. */
function inOrder(value: unknown, node: SchemaNode, fit: (text: string) => string): unknown {
  if (typeof value === 'string') return fit(value)
  if (Array.isArray(value)) return value.map((item) => inOrder(item, node.items ?? {}, fit))
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  const names = node.properties ? Object.keys(node.properties).filter((name) => name in members) : Object.keys(members)
  return Object.fromEntries(names.map((name) => [name, inOrder(members[name], node.properties?.[name] ?? {}, fit)]))
}
