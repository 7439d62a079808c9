// `tetrad chains`: shows the configured chains, the capabilities of their nodes, and what a missing
// capability costs.
import type { Command } from 'commander'
import type { ChainSettings } from '#runtime/settings/explorer.ts'
import type { Capabilities, Capability } from '#sources/evm/capabilities.ts'
import type { NodeCapabilities } from '#sources/evm/capability-tracker.ts'
import { note, paint, print, printJson, type Tone, table } from './print.ts'
import { withActivity } from './progress.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

interface ChainReport {
  readonly chain: ChainSettings
  readonly can?: Capabilities
  readonly costs: readonly string[]
  readonly trouble?: string
  readonly nodes: readonly NodeCapabilities[]
}

export function addChains(program: Command): void {
  program
    .command('chains')
    .description(
      'Test the nodes of every configured chain. Shows what they support, and what does not work without it.',
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { settings } = await configOf(options)
      const createReports = () => Promise.all(settings.explorer.chains.map(createReport))
      const reports = await withActivity('Testing the nodes', createReports, { quiet: options.json })
      if (options.json) printJson(reports.map(asJson))
      else await printReports(reports)
      if (reports.some(({ trouble }) => trouble !== undefined)) process.exitCode = 1
    })
}

async function createReport(chain: ChainSettings): Promise<ChainReport> {
  if (chain.rpc.length === 0) return { chain, costs: [], nodes: [] }
  const [{ openNode }, { describeLimitations }] = await Promise.all([
    import('#explorer/nodes.ts'),
    import('#sources/evm/capabilities.ts'),
  ])
  const node = openNode(chain, { clock })
  const nodes = await node.each()
  const can = node.known()
  if (can) return { chain, can, costs: describeLimitations(can, chain), nodes }
  return { chain, costs: [], trouble: nodes[0]?.trouble ?? 'no node is reachable', nodes }
}

async function printReports(reports: readonly ChainReport[]): Promise<void> {
  const { capabilityNames } = await import('#sources/evm/capabilities.ts')
  const yesOrNo = (has: Readonly<Record<Capability, boolean>> | undefined, name: Capability) =>
    has ? (has[name] ? 'yes' : 'no') : '-'
  const rows = reports.flatMap(({ chain, nodes }) =>
    (nodes.length > 0 ? nodes : [{ name: '-', can: undefined }]).map(({ name, can }) => [
      ...[chain.id, chain.name, chain.mode, name, can ? String(can.head) : '-'],
      ...capabilityNames.map((capability) => yesOrNo(can?.has, capability)),
    ]),
  )
  print(table(['chain', 'name', 'mode', 'node', 'head', ...capabilityNames], rows))
  for (const { chain, costs, trouble, nodes } of reports) {
    const report = (tone: Tone, text: string) => note(`${paint(tone, `chain ${chain.id}`, process.stderr)}: ${text}`)
    for (const text of costs) report('warning', text)
    if (trouble !== undefined) report('error', trouble)
    for (const node of nodes) if (node.trouble !== undefined && node.trouble !== trouble) report('error', node.trouble)
    if (chain.rpc.length === 0) report('warning', 'no node; add one under explorer.chains[].rpc')
  }
}

const asJson = ({ chain, can, costs, trouble, nodes }: ChainReport) => ({
  chain: chain.id,
  name: chain.name,
  mode: chain.mode,
  ...capabilitiesJson(can),
  costs,
  trouble: trouble ?? null,
  nodes: nodes.map((node) => ({ name: node.name, trouble: node.trouble ?? null, ...capabilitiesJson(node.can) })),
})

const capabilitiesJson = (can: Capabilities | undefined) => ({
  head: can?.head ?? null,
  can: can?.has ?? null,
  traces: can?.traces ?? null,
})
