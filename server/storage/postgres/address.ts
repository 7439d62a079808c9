// Parses PostgreSQL URLs with one or several hosts. The host that accepts writes is used.

export interface PostgresAddress {
  /** Hosts and database without credentials, for faults and the log. */
  readonly name: string
  /** One URL per host, in the order in which they are tried. The last one that worked is first. */
  readonly addresses: string[]
  /** Suffix of a separate schema for the tables. The tables of the state are also visible. */
  readonly schemaSuffix?: string
}

const urlPattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(\/[^?#]*)?(.*)$/

/** `postgres://user:password@host1:5432,host2/name?options` */
export function parsePostgresUrl(url: string, schemaSuffix?: string): PostgresAddress {
  const [, head = '', hosts = '', database = '', rest = ''] = urlPattern.exec(url) ?? []
  return {
    name: `PostgreSQL at ${hosts}${database}`,
    ...(schemaSuffix !== undefined && { schemaSuffix }),
    addresses: hosts.split(',').map((host) => `${head}${host}${database}${rest}`),
  }
}
