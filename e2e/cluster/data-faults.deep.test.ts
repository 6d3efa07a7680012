import { testFaults } from './fault-suite.js';

testFaults('data');
