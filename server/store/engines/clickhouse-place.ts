// Which ClickHouse: one or several hosts of one installation, each of which can be asked about everything.
import { Fault } from '#core/fault.ts'

export interface Place {
  /** For faults and the log: hosts and database, nothing secret. */
  readonly name: string
  readonly hosts: readonly string[]
  readonly user: string
  readonly password: string
  readonly database: string
  /** Undefined: one server that stands alone. */
  readonly cluster: string | undefined
}

const parts = /^clickhouse:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^/?#@]+)\/([^/?#]+)(?:\?([^#]*))?$/
const word = /^[A-Za-z_]\w*$/

/** `clickhouse://user:password@host1:8123,host2/database?cluster=name&tls=true` */
export function placeOf(url: string): Place {
  const [, user = '', password = '', list = '', database = '', query = ''] = parts.exec(url) ?? []
  const options = new URLSearchParams(query)
  const cluster = options.get('cluster') ?? undefined
  const isTls = options.get('tls') === 'true'
  const name = `ClickHouse at ${list}/${database}`
  const odd = [...options.keys()].find((key) => key !== 'cluster' && key !== 'tls')
  if (!word.test(database) || (cluster !== undefined && !word.test(cluster)) || odd !== undefined) {
    // Without the address: it may hold a password in the wrong place.
    throw new Fault('store.unavailable', {
      detail:
        'store.facts must look like clickhouse://user:password@host1:8123,host2:8123/database?cluster=name; special signs in user and password as %xx',
    })
  }
  const usualPort = isTls ? 8443 : 8123
  const hosts = list.split(',').map((host) => `${isTls ? 'https' : 'http'}://${withPort(host, usualPort)}`)
  return {
    name,
    hosts,
    user: decodeURIComponent(user) || 'default',
    password: decodeURIComponent(password),
    database,
    cluster,
  }
}

const withPort = (host: string, port: number): string => (/:\d+$/.test(host) ? host : `${host}:${port}`)
