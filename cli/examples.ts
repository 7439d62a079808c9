// Examples at the end of each command's help. A group shows the first example of each of its commands.
import type { Command } from 'commander'

const examples: Readonly<Record<string, readonly string[]>> = {
  serve: ['', '--config tetrad.yaml --port 9000'],
  init: [
    '',
    '--rpc http://127.0.0.1:8545 --beacon http://127.0.0.1:5052',
    '--rates https://rates.example.net/latest.json --config own.yaml',
  ],
  'keys create': ['--name ci --plan enterprise', '--name joe --plan free --groups fx,explorer --expires 90d'],
  'keys list': ['', '--json'],
  'keys rotate': ['1f2e3d4c5b6a7988', '1f2e3d4c5b6a7988 --overlap 24h'],
  'keys edit': ['1f2e3d4c5b6a7988 --plan standard', '1f2e3d4c5b6a7988 --plan enterprise --expires never'],
  'keys revoke': ['1f2e3d4c5b6a7988'],
  'keys usage': ['', '1f2e3d4c5b6a7988 --days 7'],
  'console link': ['', '--url https://data.example.net'],
  'console sign-out': [''],
  'labels add': [
    "--chain 1,137 --name 'Harbour Exchange' --slug harbour-exchange",
    "--chain 1 --address 0x28c6… --name 'Hot wallet 14' --entity harbour-exchange --confidence 95",
  ],
  'labels edit': ["harbour-exchange --chain 1 --description 'Centralised exchange.'"],
  'labels remove': ['harbour-exchange --chain 1'],
  'labels history': ['harbour-exchange --chain 1'],
  'labels import': ['labels.csv --chain 1 --source own'],
  'labels export': ['--chain 1 --format csv --out labels.csv'],
  trail: ['0xaa5993de8a2532c51b64aacd03c7b65f736f7643 --depth 5'],
  completion: ['bash'],
  'config check': ['', '--config own.yaml'],
  'config show': ['--json'],
  chains: ['', '--json'],
  'ingest evm': ['--chain 1 --once'],
  'ingest beacon': ['--network mainnet --once'],
  'ingest markets': ['--feed main --full'],
  repair: ['--chain 1', '--network mainnet --from-epoch 1000 --until-epoch 1225'],
  'validators audit': ['--network mainnet --from-epoch 1000 --until-epoch 1010'],
  'validators forget': ['--network devnet --yes'],
  'validators explain': ['12 --from-date 2026-11-01 --to-date 2026-11-07'],
  'validators entity': ['12', '12 --network hoodi --json'],
  'validators compare': ['', '12,13 --days 7'],
  'validators income': [
    '12,13 --from-date 2026-11-01',
    '--watched --price EUR --csv > mine.csv',
    "--pool 'Example Pool' --csv > income.csv",
  ],
  'validators alerts list': ['--limit 20'],
  'validators alerts test': ['pager'],
  'import markets': ['markets.json'],
  'import entities': ['entities.csv --network mainnet'],
  'markets drift': [''],
  'markets rejects': ['--max 20'],
  'fx sources': [''],
  'fx rate set': ['EUR/USD 1.0842'],
  'fx history': ['EUR/USD --since 2026-11-15 --limit 10'],
  'fx quote': ['6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'],
  'fx pause': ['', 'EURC/USDC --by night-desk'],
  'fx resume': ['EURC/USDC'],
  'fx spread': ['EURC/USDC 25', 'EURC/USDC none'],
  'fx overrides': ['--json'],
  'fx trades': ['--status accepted'],
  'fx trade': ['6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c', '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c --settled 0x…'],
  'fx check-spender': ['--json'],
  'fx receipt': ['6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c --json > receipt.json'],
  'fx rotate-receipt-key': [''],
  'fx verify-receipt': ['receipt.json --public-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'],
  'fx check-signature': ['6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c --signature 0x…'],
  coverage: ['', '--chain 1'],
  doctor: ['', '--offline --sample 100'],
  backup: ['/backups/monday'],
  restore: ['/backups/monday --data ./data-restored'],
  move: ['--from ./data --to postgres://tetrad@db1/tetrad'],
  conformance: ['--url http://127.0.0.1:8080', '--url http://127.0.0.1:8080 --spec-only --json'],
  simulator: ['', '> tetrad.yaml', '--json'],
  ask: ['markets.bySlug --slug will-the-harbour-bridge-open-on-time'],
}

/** Adds the examples to all commands below this one. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  for (const child of command.commands) {
    const childPath = [...path, child.name()]
    const lines = exampleLines(childPath.join(' '), child)
    if (lines.length > 0) child.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`)
    addExamples(child, childPath)
  }
}

function exampleLines(path: string, command: Command): readonly string[] {
  const lines = examples[path]?.map((words) => `tetrad ${path} ${words}`.trimEnd())
  return lines ?? command.commands.flatMap((child) => exampleLines(`${path} ${child.name()}`, child).slice(0, 1))
}
