// The reference page of one endpoint: a form to try it, parameters, response and errors.
import { BacktickText } from '../../parts/backtick-text.tsx'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Table } from '../../parts/table.tsx'
import { hrefOf } from '../../route.ts'
import { type Document, type Entry, fieldsOf, typeOf } from './document.ts'
import { TryIt } from './try-it.tsx'

const authLabels = {
  apikey: 'query parameter apikey',
  bearer: 'header authorization: Bearer <key>',
  open: 'not needed',
} as const

export function EndpointPage({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  return (
    <>
      <p className="small">
        <a href={hrefOf('reference')}>All endpoints</a>
      </p>
      <h1>{entry.id}</h1>
      <p className="lead">
        <BacktickText text={entry.summary} />
      </p>
      <p>
        <BacktickText text={entry.notes} />
      </p>
      <Facts
        of={{
          Route: <code>{`${entry.method} ${entry.path}`}</code>,
          'Selected by': entry.select && <code>{`module=${entry.select.module}&action=${entry.select.action}`}</code>,
          'API key': authLabels[entry.auth],
          Plan: entry.plan === 'free' ? 'any' : `${entry.plan} or higher`,
          'Rate limit': entry.perSecond && `${entry.perSecond} requests per second on every plan`,
        }}
      />
      <h2 className="gap">Try it</h2>
      <TryIt entry={entry} />
      <Parameters entry={entry} document={document} />
      <Card id="response" title="Response">
        <Fields rows={fieldsOf(entry.reply, document)} />
        {entry.replyExample !== undefined && (
          <details>
            <summary>Show an example</summary>
            <pre>{JSON.stringify(entry.replyExample, null, 2)}</pre>
          </details>
        )}
      </Card>
      <Failures entry={entry} />
    </>
  )
}

function Parameters({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  const parameters = entry.parameters.map(({ name, in: location, required, description, schema }) => {
    const type = typeOf(schema, document)
    return {
      ...{ name, location, required, description },
      type: schema.default === undefined ? type : `${type} = ${JSON.stringify(schema.default)}`,
    }
  })
  const fields = entry.body ? fieldsOf(entry.body, document) : []
  const rows = [...parameters, ...fields.map((field) => ({ ...field, name: field.path, location: 'body' }))]
  if (rows.length === 0) return null
  return (
    <Card id="parameters" title="Parameters">
      <Table name="All parameters" columns={['Name', 'In', 'Type', 'Description']}>
        {rows.map(({ name, location, required, type, description }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
              {required && <span className="badge">required</span>}
            </td>
            <td>{location}</td>
            <td className="soft">{type}</td>
            <td>
              <BacktickText text={description} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function Fields({ rows }: { readonly rows: ReturnType<typeof fieldsOf> }) {
  if (rows.length === 0) return <p className="soft">See the example.</p>
  return (
    <Table name="Fields of the response" columns={['Field', 'Type', 'Description']}>
      {rows.map(({ path, type, required, description }) => (
        <tr key={`${path} ${type}`}>
          <td>
            <code>{path}</code>
          </td>
          <td className="soft">{required ? type : `${type}, optional`}</td>
          <td>
            <BacktickText text={description} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Failures({ entry }: { readonly entry: Entry }) {
  return (
    <Card id="failures" title="Errors">
      <Table name="All errors" columns={['Status', 'Cause', 'Body']}>
        {entry.failures.map(({ status, code, summary, value }) => (
          <tr key={`${status} ${code}`}>
            <td className="mono">{status}</td>
            <td>
              <BacktickText text={summary} />
              <br />
              <code className="soft">{code}</code>
            </td>
            <td>
              <code>{JSON.stringify(value)}</code>
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
