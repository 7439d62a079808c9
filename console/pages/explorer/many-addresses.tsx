// The first fundings of a list of addresses (endpoint explorer.fundings, which reads stored data only), as a table and CSV.
import { useState } from 'preact/compat'
import { fundingsMax, type StoredFunding } from '#api/contract/wire/fundings.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { coins } from '../../parts/chains.ts'
import { Form, Submit } from '../../parts/controls.tsx'
import { download } from '../../parts/download.ts'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { toCsv } from './csv.ts'
import { ExplorerErrorNotice } from './error-notice.tsx'
import { LabelledAddress } from './funding-table.tsx'

const statusTexts: Record<StoredFunding['status'], string> = {
  funded: 'funded',
  none: 'not funded',
  not_covered: 'not stored',
}

export function ManyAddresses({ chain }: { readonly chain: string }) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  const [addresses, setAddresses] = useState<readonly string[]>([])
  const submit = () => {
    const words = text.split(/[\s,;]+/).filter((word) => word !== '')
    const found = problemOf(words)
    setProblem(found)
    setAddresses(found === '' ? words : [])
  }
  return (
    <Card id="many-addresses" title="Many addresses">
      <p className="small soft">
        First fundings of up to {fundingsMax} addresses, from stored data. For addresses that are not stored, use the
        command <code>tetrad fundings</code>.
      </p>
      <Form onSubmit={submit}>
        <label className="field">
          Addresses, separated by spaces, commas or line breaks
          <textarea
            rows={4}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            required
            placeholder="0x…"
            spellcheck={false}
          />
        </label>
        <Submit isMain={false}>Find fundings</Submit>
      </Form>
      {problem !== '' && (
        <p role="alert" className="note bad">
          {problem}
        </p>
      )}
      {addresses.length > 0 && <Fundings chain={chain} addresses={addresses} />}
    </Card>
  )
}

function problemOf(words: readonly string[]): string {
  if (words.length === 0) return 'Enter at least one address.'
  if (words.length > fundingsMax) return `These are ${words.length} addresses. Enter at most ${fundingsMax} at once.`
  const wrong = words.findIndex((word) => !/^0x[0-9a-f]{40}$/i.test(word))
  if (wrong < 0) return ''
  return `Address ${wrong + 1}, ${words[wrong]?.slice(0, 60)}, is not an address. An address is 0x followed by 40 hexadecimal digits.`
}

interface FundingsProps {
  readonly chain: string
  readonly addresses: readonly string[]
}

function Fundings({ chain, addresses }: FundingsProps) {
  const query = useEndpoint('explorer.fundings', { chainid: chain, addresses: [...addresses] })
  return (
    <QueryResult of={query} failure={(error) => <ExplorerErrorNotice error={error} chain={chain} />}>
      {({ reply: { result } }) => (
        <>
          <div className="downloads">
            <span className="soft small">Download</span>
            <button type="button" onClick={() => download(`fundings-${chain}.csv`, 'text/csv', fundingsCsv(result))}>
              CSV
            </button>
          </div>
          <Table
            name="First fundings"
            className="stacked"
            rows={result}
            columns={[
              ['Address', ({ address }) => <AddressLink chain={chain} address={address} />],
              ['Result', ({ status, finality }) => `${statusTexts[status]}${finality === 'head' ? ', not final' : ''}`],
              [
                'Funded by',
                ({ funding, label }) =>
                  funding && <LabelledAddress chain={chain} address={funding.fundingAddress} label={label} />,
              ],
              ['Amount', ({ funding }) => funding && coins(chain, funding.value, 6, 6), 'num'],
              ['Time', ({ funding }) => funding && formatTime(Number(funding.timeStamp)), 'nowrap'],
              ['Reason', ({ message }) => message, 'soft'],
            ]}
          />
        </>
      )}
    </QueryResult>
  )
}

const columns = [
  ...['address', 'status', 'fundedBy', 'label', 'labelSource', 'valueWei', 'block', 'time', 'transaction'],
  ...['finality', 'reason'],
]

const fundingsCsv = (fundings: readonly StoredFunding[]): string =>
  toCsv([
    columns,
    ...fundings.map(({ address, status, funding, finality = '', label, message = '' }) => [
      address,
      status,
      funding?.fundingAddress ?? '',
      label?.name ?? '',
      label?.source ?? '',
      funding?.value ?? '',
      funding?.block ?? '',
      funding ? new Date(Number(funding.timeStamp) * 1000).toISOString() : '',
      funding?.fundingTxn ?? '',
      finality,
      message,
    ]),
  ])
