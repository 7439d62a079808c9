// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// A token for a test chain: everybody can mint. Never use it elsewhere.
contract TestToken {
  uint8 public constant decimals = 6;
  string public symbol;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  event Transfer(address indexed from, address indexed to, uint256 value);

  constructor(string memory symbol_) { symbol = symbol_; }

  function mint(address to, uint256 amount) external {
    balanceOf[to] += amount;
    emit Transfer(address(0), to, amount);
  }

  function approve(address spender, uint256 amount) external returns (bool) {
    allowance[msg.sender][spender] = amount;
    return true;
  }

  function transfer(address to, uint256 amount) external returns (bool) {
    return move(msg.sender, to, amount);
  }

  function transferFrom(address from, address to, uint256 amount) external returns (bool) {
    allowance[from][msg.sender] -= amount;
    return move(from, to, amount);
  }

  function move(address from, address to, uint256 amount) private returns (bool) {
    balanceOf[from] -= amount;
    balanceOf[to] += amount;
    emit Transfer(from, to, amount);
    return true;
  }
}
